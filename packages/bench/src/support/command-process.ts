// Starts a command and reads its output until it is killed, or its parent ends.
import { Client } from '@svc/sdk';
import type { CommandOrders } from './command-child.js';

const { server, sandboxId, command } = JSON.parse(process.argv[2] ?? '{}') as CommandOrders;
const sandbox = await new Client(server).sandboxes.connect(sandboxId);
const running = await sandbox.commands.start(command, { timeoutMs: 0 });
running.wait().catch(() => {});
process.send?.('started');
process.on('disconnect', () => process.exit(0));
