import { REFUSALS } from './nft-rules.js';

/** Packets of one veth pair that were refused for one reason, since it was made. */
export interface LinkRefusals {
  lease: number;
  reason: string;
  packets: number;
}

/** Reads what `network_refusals` answers: for each chain that refuses, `LEASE:PACKETS ...`. Deleted links are not in it. */
export function readRefusals(answers: Record<string, string | undefined>): LinkRefusals[] {
  return Object.entries(REFUSALS).flatMap(([name, { reason }]) =>
    [...(answers[name] ?? '').matchAll(/(\d+):(\d+)/g)].map(([, lease, packets]) => ({
      lease: Number(lease),
      reason,
      packets: Number(packets),
    })),
  );
}
