import operator from './gen/operator.json' with { type: 'json' };
import platform from './gen/platform.json' with { type: 'json' };
import volumes from './gen/volumes.json' with { type: 'json' };

/** An OpenAPI 3.1 document without references to other files. */
export interface OpenapiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, unknown>>;
  webhooks?: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Record<string, unknown>>; [section: string]: unknown };
  [extension: string]: unknown;
}

/** The platform API. */
export const platformDocument: OpenapiDocument = platform;

/** The volume content API. */
export const volumesDocument: OpenapiDocument = volumes;

/** The operator API. */
export const operatorDocument: OpenapiDocument = operator;
