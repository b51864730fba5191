/**
 * A feature that a target must offer for a case to make sense.
 * `teams`: teams can be made and changed. `servers`: further servers with settings of their own can be started.
 * `templates`: the template operations answer. `memory`: memory snapshots. `isolation`: the sandbox is a machine of its
 * own. `users`: several users inside. `mounts`: volumes can be mounted. `receiver`: webhooks reach this machine. `egress`:
 * connections of sandboxes are decided by their network settings. `internet`: such a server can be started whose only
 * internet is a fake.
 */
export type Capability =
  | 'teams'
  | 'servers'
  | 'templates'
  | 'memory'
  | 'isolation'
  | 'users'
  | 'mounts'
  | 'receiver'
  | 'egress'
  | 'internet';
