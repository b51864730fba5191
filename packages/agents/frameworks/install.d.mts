/** The framework that a module belongs to; undefined for all others. */
export function frameworkOf(specifier: string): string | undefined;
/** Where a framework is installed; the directory may not be there. */
export function frameworkDirectory(name: string): string;
/** Installs a framework unless it is there. @throws Error that says why it could not be */
export function installFramework(name: string): Promise<string>;
