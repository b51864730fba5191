import { useEffect, useState } from 'preact/hooks';
import { codeIn } from './router/route.js';
import { checkSession, signIn, whenSessionEnds } from './session/session.js';
import { Shell } from './shell.js';
import { SignIn } from './sign-in.js';

type State = { at: 'looking' } | { at: 'in' } | { at: 'out'; why: string | undefined };

/** Signs in, or shows everything else. */
export function App() {
  const [state, setState] = useState<State>({ at: 'looking' });
  useEffect(() => {
    whenSessionEnds(() =>
      setState((before) => ({
        at: 'out',
        why: before.at === 'in' ? 'You are signed out. Sign in again to continue.' : undefined,
      })),
    );
    const begin = async () => {
      const code = codeIn(location.hash);
      if (code !== undefined) {
        // Used up now: it must not stay in the history.
        history.replaceState(null, '', location.pathname);
        await signIn({ code });
      } else if ((await checkSession()) !== undefined) return setState({ at: 'out', why: undefined });
      setState({ at: 'in' });
    };
    begin().catch((error: unknown) =>
      setState({
        at: 'out',
        why:
          error instanceof TypeError
            ? 'The server does not answer. Reload the page once it runs again.'
            : (error as Error).message,
      }),
    );
  }, []);
  if (state.at === 'looking') return null;
  if (state.at === 'in') return <Shell />;
  return <SignIn why={state.why} onSignedIn={() => setState({ at: 'in' })} />;
}
