import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { InstanceEntry } from '../state/records.js';
import { type HostTexts, type Share, shareTexts } from './share-texts.js';

/** The interval at which the files are written anew, ms, and the most instances that are visited each time. */
const REFRESH_MS = 1000;
const AT_ONCE = 64;
/** An instance that used no more processor time since, and has no load that fades, has no new values. */
const IDLE_CPU_US = 2_000;
const IDLE_LOAD = 0.005;

/** Directory of an instance's files, in the memory of the keeper's namespace. */
function directoryOf(name: string): string {
  return `/run/share/${name}`;
}

/** Files of an instance's `/proc` and `/sys` that show its own share; the kernel's show the whole host. */
const PLACES = {
  meminfo: '/proc/meminfo',
  cpuinfo: '/proc/cpuinfo',
  stat: '/proc/stat',
  loadavg: '/proc/loadavg',
  online: '/sys/devices/system/cpu/online',
} as const;

/** The bind mounts for the OCI runtime. Every instance has all of them: a restore finds what the checkpoint had. */
export function shareMounts(name: string): { target: string; source: string; readOnly: true }[] {
  return Object.entries(PLACES).map(([file, target]) => ({
    target,
    source: join(directoryOf(name), file),
    readOnly: true,
  }));
}

export interface ShareSources {
  /** The namespace that has the files, while there is one. */
  keeper(): NamespaceKeeper | undefined;
  /** Returns the use of an instance now. */
  usage(name: string): { cpuUsageUs: number; memoryBytes: number; memoryCacheBytes: number; pids: number };
  /** One figure of it: a tenth of the price. */
  cpuUsageUs(name: string): number;
  /** Instances that somebody has by their id. */
  named(): Iterable<InstanceEntry>;
}

/** Writes the files before an instance starts, and again and again while it runs. */
export class ShareFiles {
  readonly #sources: ShareSources;
  readonly #loads = new Map<string, { load: [number, number, number]; cpuUsageUs: number; atMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #next = 0;
  /** Read once: processors, boot time and memory stay, and reading them costs time on large machines. */
  #host: HostTexts | undefined;

  constructor(sources: ShareSources) {
    this.#sources = sources;
  }

  start(): void {
    this.#timer = setInterval(() => this.#refresh(), REFRESH_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Makes the files of an instance that is about to start. */
  make(keeper: NamespaceKeeper, entry: InstanceEntry): void {
    const directory = keeper.view(directoryOf(entry.name));
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    const idle = { cpuUsageUs: 0, memoryBytes: 0, memoryCacheBytes: 0, pids: 1 };
    const texts = shareTexts(
      { limits: entry.spec.limits, usage: idle, load: [0, 0, 0], upMs: 0 },
      this.#texts(),
    );
    for (const [file, text] of Object.entries(texts))
      writeFileSync(join(directory, file), text, { mode: 0o644 });
  }

  /** Removes the files of an instance that has ended. */
  remove(name: string): void {
    this.#loads.delete(name);
    const keeper = this.#sources.keeper();
    if (keeper !== undefined) rmSync(keeper.view(directoryOf(name)), { recursive: true, force: true });
  }

  #refresh(): void {
    const keeper = this.#sources.keeper();
    if (keeper === undefined) return;
    const running = [...this.#sources.named()];
    const host = this.#texts();
    for (let count = Math.min(AT_ONCE, running.length); count > 0; count -= 1) {
      this.#next = (this.#next + 1) % running.length;
      const entry = running[this.#next]!;
      try {
        if (this.#isIdle(entry.name)) continue;
        const { meminfo, stat, loadavg } = shareTexts(this.#share(entry), host);
        const directory = keeper.view(directoryOf(entry.name));
        for (const [file, text] of Object.entries({ meminfo, stat, loadavg }))
          overwrite(join(directory, file), text);
      } catch {
        // It ends just now, or its files went with an earlier namespace: then they stay as they are.
      }
    }
  }

  #isIdle(name: string): boolean {
    const before = this.#loads.get(name);
    return (
      before !== undefined &&
      before.load[0] < IDLE_LOAD &&
      this.#sources.cpuUsageUs(name) - before.cpuUsageUs < IDLE_CPU_US
    );
  }

  #texts(): HostTexts {
    this.#host ??= readHost();
    return this.#host;
  }

  #share(entry: InstanceEntry): Share {
    const { name, createdAtMs } = entry;
    const usage = this.#sources.usage(name);
    const atMs = Date.now();
    const before = this.#loads.get(name);
    const load: [number, number, number] = before?.load ?? [0, 0, 0];
    if (before !== undefined && atMs > before.atMs) {
      const elapsedMs = atMs - before.atMs;
      const busy = Math.max(0, usage.cpuUsageUs - before.cpuUsageUs) / (elapsedMs * 1000);
      for (const [index, minutes] of [1, 5, 15].entries()) {
        const keep = Math.exp(-elapsedMs / (minutes * 60_000));
        load[index] = load[index]! * keep + busy * (1 - keep);
      }
    }
    this.#loads.set(name, { load, cpuUsageUs: usage.cpuUsageUs, atMs });
    return { limits: entry.spec.limits, usage, load, upMs: Math.max(0, atMs - createdAtMs) };
  }
}

function readHost(): HostTexts {
  const read = (name: string) => readFileSync(`/proc/${name}`, 'utf8');
  return { cpuinfo: read('cpuinfo'), stat: read('stat'), meminfo: read('meminfo') };
}

/** In place: the file is bound by what it is, not by its name, and a reader must never find it empty. */
function overwrite(path: string, text: string): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, text, 0);
  } finally {
    closeSync(file);
  }
}
