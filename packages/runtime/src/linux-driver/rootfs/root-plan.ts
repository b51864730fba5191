import { DriverError } from '../../contract/errors.js';

/** What is known of a stored layer. */
export interface LayerFacts {
  /** A whole root file system: nothing below it is used, the base neither. */
  full: boolean;
  /** Whether it holds a `usr` directory. */
  hasUsr: boolean;
}

export interface RootPlan {
  /** Lower directories of the root, uppermost first, relative to the store. */
  root: string[];
  /** The same for `/usr` when that is an overlay of its own, over the host's. */
  usr: string[] | undefined;
}

/** Which directories an instance's file system consists of. @throws {DriverError} `invalid_spec` for an unknown layer. */
export function planLayers(
  layers: readonly string[],
  facts: (id: string) => LayerFacts | undefined,
): RootPlan {
  const stack = layers.map((id) => {
    const known = facts(id);
    if (known === undefined) throw new DriverError('invalid_spec', `There is no layer "${id}".`);
    return { path: `l/${id}/root`, ...known };
  });
  const bottom = stack.findLastIndex((layer) => layer.full);
  const used = stack.slice(Math.max(bottom, 0)).reverse();
  const root = used.map((layer) => layer.path);
  if (bottom >= 0) return { root, usr: undefined };
  const usr = used.filter((layer) => layer.hasUsr).map((layer) => `${layer.path}/usr`);
  return { root: [...root, 'base'], usr: [...usr, 'usr-mask', '/usr'] };
}
