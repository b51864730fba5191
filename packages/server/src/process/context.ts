import type { TemplatesContext } from '../templates/context.js';

/** All that the parts of a server share. */
export type ServerContext = TemplatesContext;

export type Uses<K extends keyof ServerContext> = Pick<ServerContext, K>;
