import { DriverError } from '../../contract/errors.js';
import { HOST_BASE, isBaseName } from '../../shared/base-name.js';

/** The record of a stored layer. */
export interface LayerFacts {
  /** A whole root file system: nothing below it is used, the base neither. */
  full: boolean;
  /** True if it contains a `usr` directory. */
  hasUsr: boolean;
  /** Base that it was made on, unless it is full. Absent in layers of an earlier version: they stand on the host's `/usr`. */
  base?: string | undefined;
}

export interface RootPlan {
  /** Lower directories of the root, uppermost first, relative to the store. */
  root: string[];
  /** The same for `/usr` when that is an overlay of its own, over the host's. */
  usr: string[] | undefined;
}

export interface RootSources {
  /** Returns the record of a layer; undefined when there is no such layer. */
  facts(id: string): LayerFacts | undefined;
  /** Path of a base's tree, relative to the store; undefined when it is not on this host. */
  base(name: string): string | undefined;
}

/**
 * The layers of an instance with the base that they stand on before them, by name.
 * @param ids as in a specification: none for what `fresh` gives, or with a base of their own, or without.
 */
export function withBase(
  ids: readonly string[],
  { facts, fresh }: Pick<RootSources, 'facts'> & { fresh(): string },
): string[] {
  const lowest = ids[0];
  if (lowest === undefined) return [fresh()];
  if (isBaseName(lowest)) return [...ids];
  const known = facts(lowest);
  return known === undefined || known.full ? [...ids] : [known.base ?? HOST_BASE, ...ids];
}

/**
 * Which directories an instance's file system consists of.
 * @param layers from {@link withBase}; what an earlier version recorded has no base and stands on the host's `/usr`.
 * @throws {DriverError} `invalid_spec` for an unknown layer, `unsupported` for a base that is not on this host.
 */
export function planLayers(layers: readonly string[], sources: RootSources): RootPlan {
  const [lowest] = layers;
  const named = lowest !== undefined && isBaseName(lowest) ? lowest : undefined;
  const stack = layers.slice(named === undefined ? 0 : 1).map((id) => {
    const known = sources.facts(id);
    if (known === undefined) throw new DriverError('invalid_spec', `There is no layer "${id}".`);
    return { path: `l/${id}/root`, ...known };
  });
  const bottom = stack.findLastIndex((layer) => layer.full);
  const used = stack.slice(Math.max(bottom, 0)).reverse();
  const root = used.map((layer) => layer.path);
  if (bottom >= 0) return { root, usr: undefined };
  if (named !== undefined && named !== HOST_BASE) {
    const tree = sources.base(named);
    if (tree === undefined) throw baseMissing(named);
    return { root: [...root, tree], usr: undefined };
  }
  const usr = used.filter((layer) => layer.hasUsr).map((layer) => `${layer.path}/usr`);
  return { root: [...root, 'base'], usr: [...usr, 'usr-mask', '/usr'] };
}

/**
 * Path, relative to the store, of the empty writable part that an instance on these layers begins with: its files get other inode
 * numbers than those of the layers. Undefined where nothing below is in the store. Layers of an earlier version have none.
 */
export function emptyPartOf(layers: readonly string[]): string | undefined {
  const top = layers.at(-1) ?? HOST_BASE;
  if (top === HOST_BASE) return 'empty';
  return isBaseName(top) ? undefined : `l/${top}/sv`;
}

/** The error of an instance whose base was removed, or is on another machine: it cannot start. */
export function baseMissing(name: string): DriverError {
  return new DriverError(
    'unsupported',
    `It stands on the base root file system "${name}", which is not on this machine. Copy the directory of that name from the machine that has it into the directory of the bases.`,
  );
}
