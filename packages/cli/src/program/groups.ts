import type { Command } from 'commander';

/** Adds the commands of a group to it. `readProgram` gives the tree of all commands. */
type AddCommands = (group: Command, readProgram: () => Promise<Command>) => void;

/** A command or group at the top; what is in it is loaded when it is used. */
export interface GroupEntry {
  name: string;
  summary: string;
  load: () => Promise<AddCommands>;
}

/** Everything that `svc` has, in the order of its help. */
export const groups: readonly GroupEntry[] = [
  {
    name: 'server',
    summary: 'run the service on this machine',
    load: async () => (await import('../commands/server/index.js')).addServerCommands,
  },
  {
    name: 'cluster',
    summary: 'run sandboxes on several machines, by Incus',
    load: async () => (await import('../commands/cluster.js')).addClusterCommands,
  },
  {
    name: 'sandbox',
    summary: 'create and use sandboxes',
    load: async () => (await import('../commands/sandbox/index.js')).addSandboxCommands,
  },
  {
    name: 'port',
    summary: 'reach a port of a sandbox, as `svc sandbox port` does',
    load: async () => (await import('../commands/sandbox/port.js')).addPortCommand,
  },
  {
    name: 'ssh',
    summary: 'open a shell or run a command in a sandbox with the ssh of this machine',
    load: async () => (await import('../commands/ssh/ssh.js')).addSshCommand,
  },
  {
    name: 'ssh-config',
    summary: 'set up ssh, rsync and editors to reach sandboxes',
    load: async () => (await import('../commands/ssh/config.js')).addSshConfigCommand,
  },
  {
    name: 'ssh-proxy',
    summary: 'speak SSH for a sandbox, as the ProxyCommand of ssh',
    load: async () => (await import('../commands/ssh/proxy.js')).addSshProxyCommand,
  },
  {
    name: 'snapshot',
    summary: 'save the state of a sandbox, memory included',
    load: async () => (await import('../commands/snapshot.js')).addSnapshotCommands,
  },
  {
    name: 'template',
    summary: 'build the templates that sandboxes start from',
    load: async () => (await import('../commands/template/index.js')).addTemplateCommands,
  },
  {
    name: 'secret',
    summary: 'store secrets that sandboxes use without seeing them',
    load: async () => (await import('../commands/secret.js')).addSecretCommands,
  },
  {
    name: 'volume',
    summary: 'store files that outlive a sandbox',
    load: async () => (await import('../commands/volume.js')).addVolumeCommands,
  },
  {
    name: 'webhook',
    summary: 'send events about sandboxes to your addresses',
    load: async () => (await import('../commands/webhook/index.js')).addWebhookCommands,
  },
  {
    name: 'event',
    summary: 'list events about sandboxes',
    load: async () => (await import('../commands/event.js')).addEventCommands,
  },
  {
    name: 'key',
    summary: 'manage the API keys of a team',
    load: async () => (await import('../commands/key.js')).addKeyCommands,
  },
  {
    name: 'team',
    summary: 'for operators: manage teams and their limits',
    load: async () => (await import('../commands/team.js')).addTeamCommands,
  },
  {
    name: 'audit',
    summary: 'for operators: show who did what',
    load: async () => (await import('../commands/audit.js')).addAuditCommand,
  },
  {
    name: 'node',
    summary: 'for operators: manage servers that share a database',
    load: async () => (await import('../commands/node.js')).addNodeCommands,
  },
  {
    name: 'dashboard',
    summary: 'for operators: open the dashboard of a server',
    load: async () => (await import('../commands/dashboard.js')).addDashboardCommand,
  },
  {
    name: 'auth',
    summary: 'choose the service and the key to use',
    load: async () => (await import('../commands/auth.js')).addAuthCommands,
  },
  {
    name: 'sync',
    summary: 'keep a directory here and one of a sandbox equal',
    load: async () => (await import('../commands/sync.js')).addSyncCommand,
  },
  {
    name: 'mcp',
    summary: 'give sandboxes to agents as tools (Model Context Protocol)',
    load: async () => (await import('../commands/mcp.js')).addMcpCommand,
  },
  {
    name: 'types',
    summary: 'show how to import the types of the API',
    load: async () => (await import('../commands/types.js')).addTypesCommand,
  },
  {
    name: 'completion',
    summary: 'print shell completion for bash, zsh or fish',
    load: async () => (await import('../commands/completion.js')).addCompletionCommand,
  },
];

/** The entry that a command line is about; only that one is loaded. `help X` is about X. */
export function chooseGroup(argv: readonly string[]): string | undefined {
  const words: string[] = [];
  for (let i = 0; i < argv.length && words.length < 2; i += 1) {
    const word = argv[i]!;
    if (word === '--') break;
    if (word === '--api-url' || word === '--sandbox-url') i += 1;
    else if (!word.startsWith('-')) words.push(word);
  }
  return words[0] === 'help' ? words[1] : words[0];
}
