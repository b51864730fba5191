import { useEffect, useState } from 'preact/hooks';
import { parseRoute, type Route } from './route.js';

/** Returns the route of the address, now and whenever it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const read = () => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return route;
}

/** Goes to another view. `replace` leaves no step to go back to, for what is typed. */
export function goTo(hash: string, replace = false): void {
  if (!replace) location.hash = hash;
  else {
    history.replaceState(null, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}
