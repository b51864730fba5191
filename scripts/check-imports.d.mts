export function objectionTo(packageName: string, file: string, specifier: string): string | undefined;
