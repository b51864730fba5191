import type { FakeInternet } from '@svc/runtime/testing';
import type { Capability } from '../capability.js';
import type { Api } from '../wire/call.js';
import type { Daemon } from '../wire/rpc.js';

/** A sandbox that runs, and how to reach its daemon. */
export interface TestSandbox extends Daemon {
  templateId: string;
}

export interface TeamOptions {
  limits?: Record<string, number>;
  egressProxy?: boolean;
}

/** A team of its own, with a key. */
export interface TestTeam extends Api {
  teamId: string;
  slug: string;
  ban(): Promise<void>;
  /** @param reason null: none was given. */
  block(reason: string | null): Promise<void>;
}

/** Settings under which an error can be produced that an ordinary server does not give. */
export type ServerKind =
  | 'rate-limited'
  | 'small'
  | 'faulty'
  | 'impatient'
  | 'broken-storage'
  /** Its tables of credentials fail as well. */
  | 'broken-keys'
  /** The store takes statements and never answers. */
  | 'stalled-storage'
  /** It is about to stop. */
  | 'draining'
  | 'broken-volumes';

export interface SpecialServer extends Api {
  sandboxUrl: string;
  team(options?: TeamOptions): Promise<TestTeam>;
  /** Sets the driver's behaviour from now on. */
  setFault(fault: Fault): void;
}

export type Fault =
  | 'none'
  | 'hang'
  | 'create_failed'
  | 'no_capacity'
  | 'unsupported'
  | 'unknown'
  | 'busy'
  | 'hold';

/** A server of the target's driver whose only internet is a fake, which records what it saw. */
export interface EgressServer extends Api {
  sandboxUrl: string;
  internet: Pick<FakeInternet, 'ca' | 'seen'>;
  newSandbox(options?: Record<string, unknown>, api?: Api): Promise<TestSandbox>;
  team(options?: TeamOptions): Promise<TestTeam>;
}

/** A service under test. */
export interface Target extends Api {
  name: string;
  sandboxUrl: string;
  /** Domain of the host names of ports, when it is known. */
  domain: string | undefined;
  capabilities: ReadonlySet<Capability>;
  /** Name of a template that everybody may use. */
  template: string;
  /** Shared by the cases that only look or work inside; nobody may end it. */
  sandbox(): Promise<TestSandbox>;
  /** A running sandbox of the case's own. It is killed at the end of the run if it still lives. */
  newSandbox(options?: Record<string, unknown>, api?: Api): Promise<TestSandbox>;
  team(options?: TeamOptions): Promise<TestTeam>;
  /** Started at the first call, shared by the cases that name it. */
  server(kind: ServerKind): Promise<SpecialServer>;
  /** Started at the first call. Needs the capability `internet`. */
  egressServer(): Promise<EgressServer>;
  close(): Promise<void>;
}
