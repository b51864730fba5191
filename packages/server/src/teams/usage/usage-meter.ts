const HOUR_MS = 3_600_000;
/** Time for which the team of an ended sandbox is known, ms. */
const REMEMBERED_MS = 300_000;

/** The use of a team in one hour. */
export interface UsageHour {
  teamId: string;
  /** Its beginning, ms since the epoch. */
  hourMs: number;
  /** Time that sandboxes ran, all added up, ms. */
  sandboxMs: number;
  /** The same, each times its memory: MiB times ms. */
  memoryMibMs: number;
  egressBytes: number;
  creates: number;
}

/** The measured properties of a sandbox. */
export interface MeteredSandbox {
  id: string;
  teamId: string;
  memoryMiB: number;
}

/** Cuts a span of time at whole hours. Pure. */
export function byHour(fromMs: number, untilMs: number): { hourMs: number; ms: number }[] {
  const parts: { hourMs: number; ms: number }[] = [];
  let at = fromMs;
  while (at < untilMs) {
    const hourMs = Math.floor(at / HOUR_MS) * HOUR_MS;
    const end = Math.min(hourMs + HOUR_MS, untilMs);
    parts.push({ hourMs, ms: end - at });
    at = end;
  }
  return parts;
}

/** Adds up what the teams use of this server, until it is taken away to be written. In memory alone. */
export class UsageMeter {
  readonly #now: () => number;
  /** Sandboxes that run, and until when they were counted. */
  readonly #running = new Map<string, MeteredSandbox & { countedMs: number }>();
  /** The teams for which instances send that are no sandboxes. */
  readonly #senders = new Map<string, string>();
  /** Instances that ended lately: their traffic is reported after their end. */
  readonly #left = new Map<string, { teamId: string; atMs: number }>();
  readonly #hours = new Map<string, UsageHour>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A sandbox was made. */
  created(teamId: string): void {
    this.#hourOf(teamId, this.#now()).creates += 1;
  }

  /** A sandbox runs from now on. Known ones continue. */
  runs(sandbox: MeteredSandbox): void {
    if (!this.#running.has(sandbox.id)) this.#running.set(sandbox.id, { ...sandbox, countedMs: this.#now() });
  }

  /** A sandbox runs no more. Unknown ones are none. */
  ended(sandboxId: string): void {
    const known = this.#running.get(sandboxId);
    if (known === undefined) return;
    this.#count(known);
    this.#leave(known);
  }

  /** An instance that is no sandbox, such as that of a build, sends for a team from now on. Neither its time nor its memory counts. */
  sends(instanceId: string, teamId: string): void {
    this.#senders.set(instanceId, teamId);
  }

  /** Such an instance ended. Unknown ones are none. */
  sendsNoMore(instanceId: string): void {
    const teamId = this.#senders.get(instanceId);
    if (teamId === undefined) return;
    this.#senders.delete(instanceId);
    this.#left.set(instanceId, { teamId, atMs: this.#now() });
  }

  /** The team of an instance that runs, or did until a few minutes ago. */
  teamOf(instanceId: string): string | undefined {
    return (
      this.#running.get(instanceId)?.teamId ??
      this.#senders.get(instanceId) ??
      this.#left.get(instanceId)?.teamId
    );
  }

  /** Bytes that left sandboxes of a team. */
  sent(teamId: string, bytes: number): void {
    if (bytes > 0) this.#hourOf(teamId, this.#now()).egressBytes += bytes;
  }

  /** Counts every sandbox that runs until now. Those that are not named ended without a report, and are not counted. */
  look(running: readonly MeteredSandbox[]): void {
    const named = new Set(running.map(({ id }) => id));
    for (const known of this.#running.values()) if (!named.has(known.id)) this.#leave(known);
    const now = this.#now();
    for (const [id, { atMs }] of this.#left) if (now - atMs > REMEMBERED_MS) this.#left.delete(id);
    for (const sandbox of running) this.runs(sandbox);
    for (const known of this.#running.values()) this.#count(known);
  }

  /** Takes everything that was counted. */
  take(): UsageHour[] {
    const hours = [...this.#hours.values()];
    this.#hours.clear();
    return hours;
  }

  /** Takes back what could not be written. */
  giveBack(hours: readonly UsageHour[]): void {
    for (const hour of hours) {
      const known = this.#hourOf(hour.teamId, hour.hourMs);
      known.sandboxMs += hour.sandboxMs;
      known.memoryMibMs += hour.memoryMibMs;
      known.egressBytes += hour.egressBytes;
      known.creates += hour.creates;
    }
  }

  #leave({ id, teamId }: MeteredSandbox): void {
    this.#running.delete(id);
    this.#left.set(id, { teamId, atMs: this.#now() });
  }

  #count(known: MeteredSandbox & { countedMs: number }): void {
    const now = this.#now();
    for (const { hourMs, ms } of byHour(known.countedMs, now)) {
      const hour = this.#hourOf(known.teamId, hourMs);
      hour.sandboxMs += ms;
      hour.memoryMibMs += ms * known.memoryMiB;
    }
    // A clock that was set back counts nothing twice.
    known.countedMs = Math.max(known.countedMs, now);
  }

  #hourOf(teamId: string, atMs: number): UsageHour {
    const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
    const key = `${teamId} ${hourMs}`;
    const known = this.#hours.get(key);
    if (known !== undefined) return known;
    const hour = { teamId, hourMs, sandboxMs: 0, memoryMibMs: 0, egressBytes: 0, creates: 0 };
    this.#hours.set(key, hour);
    return hour;
  }
}
