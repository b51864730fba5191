import { mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import type { Store } from '../store/store.js';
import type { Bases } from './bases.js';
import { isDirectory } from './inside-layer.js';
import { type LayerFacts, planLayers, type RootPlan } from './root-plan.js';

/** Reads the record beside a layer. Undefined when there is no such layer. */
export function readLayerFacts(store: Store, id: string): (LayerFacts & { sizeBytes: number }) | undefined {
  try {
    const layer = store.view(`l/${id}`);
    const facts = JSON.parse(readFileSync(`${layer}/layer.json`, 'utf8'));
    // Checked again: what is mounted must be a directory of the layer, regardless of its maker.
    return { ...facts, hasUsr: isDirectory(`${layer}/root/usr`) };
  } catch {
    return undefined;
  }
}

/** A name of a base in the store: sandboxes read in `/proc` how their file system was mounted. */
function linkTo(store: Store, name: string, tree: string): string {
  const path = `b/${name}`;
  const link = store.view(path);
  try {
    if (readlinkSync(link) === tree) return path;
    rmSync(link);
  } catch {
    mkdirSync(store.view('b'), { recursive: true, mode: 0o700 });
  }
  symlinkSync(tree, link);
  return path;
}

/**
 * Which directories the file system of an instance consists of.
 * @throws {DriverError} `invalid_spec` for an unknown layer, `unsupported` for a base that is not here.
 */
export function planRoot(store: Store, bases: Bases, layers: readonly string[]): RootPlan {
  return planLayers(layers, {
    facts: (id) => readLayerFacts(store, id),
    base: (name) => {
      const tree = bases.treeOf(name);
      return tree === undefined ? undefined : linkTo(store, name, tree);
    },
  });
}
