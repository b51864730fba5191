/** The parts of the address: `#/TEAM/VIEW/ID/TAB?filter=…`. */
export interface Route {
  /** Slug or id of the team; undefined: not chosen yet. */
  team: string | undefined;
  view: View;
  /** Which sandbox, template, webhook or team. */
  id: string | undefined;
  /** The part of the view. */
  tab: string | undefined;
  query: Record<string, string>;
}

export const views = [
  'sandboxes',
  'templates',
  'volumes',
  'secrets',
  'webhooks',
  'server',
  'teams',
  'audit',
] as const;
export type View = (typeof views)[number];

/** Reads the part of an address behind `#`. What it does not know becomes the list of sandboxes. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2);
  const [, team, view, id, tab] = path.split('/').map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  const known = views.find((name) => name === view);
  return {
    team: team || undefined,
    view: known ?? 'sandboxes',
    id: (known && id) || undefined,
    tab: (known && id && tab) || undefined,
    query,
  };
}

/** The address of a route, with its `#`. Empty filters are left out. */
export function formatRoute(route: Partial<Route> & { view: View }): string {
  const parts = [route.team ?? '', route.view, route.id, route.tab].filter((part) => part !== undefined);
  const search = new URLSearchParams(Object.entries(route.query ?? {}).filter(([, value]) => value !== ''));
  return `#/${parts.map(encodeURIComponent).join('/')}${search.size === 0 ? '' : `?${search}`}`;
}

/** The code of a link that signs in. */
export function codeIn(hash: string): string | undefined {
  return /^#code=([\w-]+)$/.exec(hash)?.[1];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}
