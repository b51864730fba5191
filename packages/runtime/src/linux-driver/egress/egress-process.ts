import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { loaderOf } from '../../agent/host-programs.js';
import type { DriverEgress, DriverOptions, EgressProgram } from '../../contract/driver.js';
import { DriverError, driverClosed } from '../../contract/errors.js';
import { egressUser } from '../../host/egress-user.js';
import { assetPath } from '../../shared/assets.js';
import { dialUnix } from '../../shared/dial.js';
import { keepAlive } from '../../shared/keep-alive.js';
import { SCRIPT_ENVIRONMENT } from '../../shared/script-environment.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { NAME_SERVER, PROXY_PORT } from '../network/nft-rules.js';
import type { EgressGroup } from './egress-group.js';
import { readOutput } from './read-output.js';

/** In the keeper's namespace: memory that goes with it, for root alone. */
const DIRECTORY = '/run/egress';
const CONTROL = `${DIRECTORY}/control`;
const SCRIPTS = ['egress-jail.sh', 'egress-listen.pl', 'refuse-calls.pl'];

const START_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;
/** A process that lived so long, ms, is started again without a pause. */
const HEALTHY_MS = 30_000;
/** Of its memory: the rest is for what sockets are read into and written from. */
const HEAP_SHARE = 0.5;
/** So much is used before all of the heap is looked through: bodies that pass count as used, and would have it looked at all the time. */
const HEAP_AT_REST_MIB = 64;

/** Where the process is started. */
export interface EgressPlace {
  keeper: NamespaceKeeper;
  /** Directory with Node and its libraries, in the keeper's namespace. */
  node: string;
}

export interface EgressProcessOptions {
  program: EgressProgram;
  allowRanges: readonly string[];
  group: EgressGroup;
  log: NonNullable<DriverOptions['log']>;
}

/**
 * The process that carries the traffic of sandboxes with a network policy, in the gateway's network (see `EgressProgram`). It ends with this
 * one, however that ends: it has nothing to be adopted for. When it ends by itself it is started again; until then nobody
 * listens, and the gateway refuses what it would have got.
 */
export class EgressProcess implements DriverEgress {
  readonly #options: EgressProcessOptions;
  #place: EgressPlace | undefined;
  #child: ChildProcessWithoutNullStreams | undefined;
  #again: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #closed = false;

  constructor(options: EgressProcessOptions) {
    this.#options = options;
  }

  /**
   * Starts it; one that ran somewhere else ends. Settles once its sockets are open.
   * @throws {DriverError} `unsupported` when it does not start here
   */
  async start(place: EgressPlace): Promise<void> {
    await this.stop();
    this.#closed = false;
    this.#place = place;
    const { keeper } = place;
    const directory = keeper.view(DIRECTORY);
    try {
      mkdirSync(`${directory}/program`, { recursive: true, mode: 0o755 });
      copyFileSync(this.#options.program.entry, `${directory}/program/egress.cjs`);
      for (const name of SCRIPTS) copyFileSync(assetPath(name), `${directory}/${name}`);
    } catch (cause) {
      throw new DriverError('unsupported', 'The program of the egress process cannot be read.', { cause });
    }
    const stderr = this.#launch(place);
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      const there = await dialUnix(keeper.view(CONTROL)).catch(() => undefined);
      there?.destroy();
      if (there !== undefined) return;
      if (this.#child === undefined || Date.now() > deadline) {
        await this.stop();
        throw new DriverError('unsupported', `The egress process does not start: ${stderr().trim()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async connect({ signal }: { signal?: AbortSignal } = {}): Promise<Duplex> {
    if (this.#closed || this.#place === undefined) throw driverClosed();
    return dialUnix(this.#place.keeper.view(CONTROL), signal);
  }

  /** Ends it for good; settles when it has exited. */
  async stop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    const child = this.#child;
    if (child !== undefined) {
      const exited = new Promise((resolve) => child.once('close', resolve));
      keepAlive(child, true);
      child.kill('SIGKILL');
      await exited;
    }
    await this.#options.group.remove();
  }

  /** Without its limits it would still be the first to go when memory gets short. */
  #enterGroup(): string[] {
    const { group, log } = this.#options;
    try {
      return group.make();
    } catch (error) {
      log('warn', 'the egress process runs without limits of its own', { error: String(error) });
      return [];
    }
  }

  /** @returns what it printed last, for people. */
  #launch({ keeper, node }: EgressPlace): () => string {
    const { group } = this.#options;
    const { memoryMiB } = group.share;
    const [command, ...args] = [
      // Each of these goes with the one before it, and the first with this process.
      ...['setpriv', '--pdeathsig', 'KILL'],
      ...this.#enterGroup(),
      ...keeper.enter(['nsenter', '--net=/run/netns/gw']),
      ...['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child=KILL'],
      ...['sh', `${DIRECTORY}/egress-jail.sh`, node, `${DIRECTORY}/program`],
      ...[String(PROXY_PORT), NAME_SERVER, CONTROL, String(egressUser())],
      ...[...loaderOf('/agent'), '/agent/node'],
      `--max-old-space-size=${Math.floor(memoryMiB * HEAP_SHARE)}`,
      `--initial-old-space-size=${HEAP_AT_REST_MIB}`,
      ...['/program/egress.cjs', '--memory-mib', String(memoryMiB)],
      ...['--listen', 'fd:3', '--dns-udp', 'fd:4', '--dns-tcp', 'fd:5', '--control', 'fd:6'],
      ...this.#options.allowRanges.flatMap((range) => ['--allow-range', range]),
    ];
    const child = spawn(command!, args, {
      stdio: 'pipe',
      detached: true,
      cwd: '/',
      env: SCRIPT_ENVIRONMENT,
    });
    this.#child = child;
    const { oomKills } = group;
    const startedMs = performance.now();
    let last = '';
    const { log } = this.#options;
    const write = (level: 'info' | 'warn') => (line: string) => {
      last = line;
      log(level, `egress process: ${line}`);
    };
    readOutput(child.stdout, write('info'));
    readOutput(child.stderr, write('warn'));
    child.once('error', (error) => {
      last = error.message;
    });
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = undefined;
      if (this.#closed) return;
      log(
        'error',
        'the egress process ended: sandboxes with a network policy reach nothing until it is back',
        {
          code,
          signal,
          ...(group.oomKills > oomKills ? { why: `it needed more than ${memoryMiB} MiB of memory` } : {}),
        },
      );
      if (performance.now() - startedMs > HEALTHY_MS) this.#pauseMs = FIRST_PAUSE_MS;
      this.#again = setTimeout(() => {
        if (keeper.alive) this.#launch({ keeper, node });
      }, this.#pauseMs);
      this.#again.unref();
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    });
    // It must not keep the server from ending.
    keepAlive(child, false);
    child.stdin.on('error', () => undefined);
    return () => last;
  }
}
