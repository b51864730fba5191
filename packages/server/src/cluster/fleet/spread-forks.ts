import { orderPlaces, type Place } from '../nodes/order-places.js';

/** Nodes that one checkpoint is copied to, at most. */
const MOST_NODES = 4;

/** Divides forks among nodes: each goes where a new sandbox would. Pure. @returns by node; empty without nodes */
export function spreadForks(count: number, places: readonly Place[], memoryMiB: number): Map<string, number> {
  const need = { memoryMiB, pooled: false };
  const chosen = new Set(orderPlaces(places, need).slice(0, MOST_NODES));
  const among = places.filter(({ nodeId }) => chosen.has(nodeId)).map((place) => ({ ...place }));
  const counts = new Map<string, number>();
  for (let fork = 0; fork < count; fork += 1) {
    const [nodeId] = orderPlaces(among, need);
    const place = among.find((each) => each.nodeId === nodeId);
    if (place === undefined) break;
    place.sent += 1;
    counts.set(place.nodeId, (counts.get(place.nodeId) ?? 0) + 1);
  }
  return counts;
}
