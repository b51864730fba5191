/** The hardening of every container that runs or reads content of tenants. */
export const HARDENING: Readonly<Record<string, string>> = {
  // Root of each is nobody on its machine, and somebody else than the root of its neighbours.
  'security.privileged': 'false',
  'security.idmap.isolated': 'true',
  'security.nesting': 'false',
  'security.guestapi': 'false',
  // An instance that was lost with its machine must not come back on its own: the service has reported it as deleted.
  'boot.autostart': 'false',
  // A machine that is to be empty is so at once: memory cannot move to another, and who is frozen would not hear a request to end.
  'cluster.evacuate': 'stop',
  'boot.host_shutdown_timeout': '5',
};
