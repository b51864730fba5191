import { readFileSync } from 'node:fs';

/** Returns the outcomes that a run has to see of RPCs and of the gateway, as `<RPC or gateway> <outcome>`. */
export function readRpcOutcomes(): string[] {
  return readFileSync(new URL('./rpc-outcomes.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}
