/**
 * Puts variables into a text: `$NAME` and `${NAME}`; unknown ones are empty, `\$` is a plain `$`. Nothing is run:
 * `$(...)` stays as it is.
 */
export function expandVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(
    /\\\$|\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g,
    (match, braced: string | undefined, bare: string | undefined) => {
      if (match === '\\$') return '$';
      const name = (braced ?? bare)!;
      return Object.hasOwn(variables, name) ? variables[name]! : '';
    },
  );
}
