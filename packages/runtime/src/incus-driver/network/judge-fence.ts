/** The result of a trial of the fence on one member. */
export interface FenceTrial {
  /** The targets that answered a probe without network access; undefined: it could not try. */
  closed: readonly string[] | undefined;
  /** The targets that answered a probe with network access and must not. */
  open: readonly string[] | undefined;
}

/** Says what is wrong with the fence of a member; undefined: it holds. Pure. */
export function judgeFence({ closed, open }: FenceTrial): string | undefined {
  if (closed === undefined || open === undefined)
    return 'a probe inside a sandbox could not be run to its end';
  const reached = [
    ...closed.map((what) => `a sandbox without network access reaches ${what}`),
    ...open.map((what) => `a sandbox with network access reaches ${what}`),
  ];
  return reached.length === 0 ? undefined : reached.join('; ');
}

/** The advice to an operator where the fence of a member does not work. */
export const FENCE_HELP =
  "nft -D svc_servers='{ ADDRESS, ADDRESS }' -f fence.nft   # on that member, with the addresses of all servers";
