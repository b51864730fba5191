import { REFUSALS } from './nft-rules.js';

/** Packets of one veth pair that were refused for one reason, since it was made. */
export interface LinkRefusals {
  lease: number;
  reason: string;
  packets: number;
}

interface ListedSet {
  set?: { name: string; elem?: { elem?: { val: unknown; counter?: { packets: number } } }[] };
}

/** Reads what `nft -j list sets` prints in the gateway. Links that are gone have numbers in place of names. */
export function readRefusals(json: string): LinkRefusals[] {
  const { nftables } = JSON.parse(json) as { nftables: ListedSet[] };
  const refusals: LinkRefusals[] = [];
  for (const { set } of nftables)
    for (const [name, { reason }] of Object.entries(REFUSALS)) {
      if (set?.name !== `refused_${name}`) continue;
      for (const { elem } of set.elem ?? []) {
        const lease = typeof elem?.val === 'string' ? /^s(\d+)$/.exec(elem.val)?.[1] : undefined;
        const packets = elem?.counter?.packets ?? 0;
        if (lease !== undefined && packets > 0) refusals.push({ lease: Number(lease), reason, packets });
      }
    }
  return refusals;
}
