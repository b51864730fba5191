import type { Uses } from '../context/context.js';

/** What it takes to find a sandbox and to change its row. */
export type RowPorts = Uses<'config' | 'db' | 'events' | 'nodes' | 'repairs' | 'sandboxes'>;

/** What it takes to change the state of a sandbox that there is. */
export type SandboxPorts = RowPorts &
  Uses<
    | 'authority'
    | 'driver'
    | 'egress'
    | 'egressLimits'
    | 'ids'
    | 'keys'
    | 'log'
    | 'metrics'
    | 'now'
    | 'sandboxClosed'
    | 'signal'
  >;

/** What it takes to start one, or to start it again. */
export type StartPorts = SandboxPorts & Uses<'dialect' | 'volumes'>;
