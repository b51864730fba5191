import daemon from './gen/daemon.json' with { type: 'json' };

/** An OpenAPI 3.1 document without references to other files. */
export interface OpenapiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Record<string, unknown>>; [section: string]: unknown };
  [extension: string]: unknown;
}

/** The daemon's HTTP routes. Its RPCs are described by the generated services of `@svc/daemon/gen`. */
export const daemonDocument: OpenapiDocument = daemon;
