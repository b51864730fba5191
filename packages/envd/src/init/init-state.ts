import type { EnvdContext } from '../context.js';
import type { InitRequest } from './wire.js';

/** What the daemon can change in the system around it. */
export interface InitSystem {
  setHostname(name: string): Promise<void>;
  /** Makes programs trust an authority; an empty text: no more. Gives the variables that they need for it. */
  trustAuthority(pem: string): Promise<Readonly<Record<string, string>>>;
}

/** Remembers what was accepted last. */
export interface InitState {
  /** Milliseconds since 1970 of the newest request so far. */
  acceptedAt: number | undefined;
}

/**
 * Applies a request of the platform: only given fields change; one that is older than the last accepted changes nothing.
 * The caller has proved the token already.
 * @param original whether it was proved by the token from before a copy of this memory was made.
 */
export async function applyInit(
  context: EnvdContext,
  state: InitState,
  request: InitRequest,
  system: InitSystem,
  original = true,
): Promise<void> {
  if (request.timestampMs !== undefined) {
    if (state.acceptedAt !== undefined && request.timestampMs < state.acceptedAt) return;
    state.acceptedAt = request.timestampMs;
  }
  // Nothing else is taken over when it fails: who asks gets an error and asks again.
  if (request.caBundle !== undefined && !context.singleUser)
    context.trustVars = await system.trustAuthority(request.caBundle);
  if (request.quiesced === true) context.gate.close();
  if (request.accessToken !== undefined) {
    if (request.quiesced === true) context.token.replaceForImage(request.accessToken);
    else context.token.set(request.accessToken);
  }
  if (request.envVars !== undefined) context.envVars = request.envVars;
  if (request.defaultUser !== undefined) context.defaults.user = request.defaultUser;
  if (request.defaultWorkdir !== undefined) context.defaults.workdir = request.defaultWorkdir;
  if (request.hostname !== undefined && !context.singleUser) await system.setHostname(request.hostname);
  if (request.quiesced === false) context.gate.open(original);
}
