import type { Resolved, Setting, Settings } from './setting.js';

export function isSetting(rule: Setting | Settings): rule is Setting {
  return typeof rule.check === 'function';
}

/** Every setting with its path in the configuration file, in the order of the definition. */
export function* walkSettings(
  settings: Settings,
  above: readonly string[] = [],
): Generator<[string[], Setting]> {
  for (const [name, rule] of Object.entries(settings)) {
    const path = [...above, name];
    if (isSetting(rule)) yield [path, rule];
    else yield* walkSettings(rule, path);
  }
}

/** Puts a value where its path says, next to what is there. */
export function setAt(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name, ...below] = path;
  if (name === undefined) return;
  if (below.length === 0) target[name] = value;
  else setAt((target[name] ??= {}) as Record<string, unknown>, below, value);
}

/** The options with the default of every setting that was not given. */
export function withDefaults<S extends Settings>(settings: S, options: object): Resolved<S> {
  const given = options as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(settings).map(([name, rule]) => [
      name,
      isSetting(rule) ? (given[name] ?? rule.default) : withDefaults(rule, given[name] ?? {}),
    ]),
  ) as Resolved<S>;
}
