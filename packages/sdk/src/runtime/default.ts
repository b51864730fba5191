import { InvalidRequestError } from '../errors/answer-errors.js';
import type { Runtime } from './contract/adapter.js';

const inactive = { hasSubscribers: false, publish: () => {} };

/** Browsers, workers and edge runtimes. */
export const runtime: Runtime = {
  kind: 'window' in globalThis || 'WorkerGlobalScope' in globalThis ? 'browser' : 'other',
  userAgent: undefined,
  environment: () => {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env ?? {};
  },
  channel: () => inactive,
  localFiles: async () => refuse(),
  readLocalText: refuse,
};

function refuse(): never {
  throw new InvalidRequestError(
    'This needs files of the machine that the program runs on, and there are none here. Run it in Node.',
  );
}
