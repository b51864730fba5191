export type { components, operations, paths, webhooks } from './gen/platform.js';
export { platformOperations } from './gen/platform-operations.js';
// The schemas' friendly names are a generated table of contents of their own: a new schema needs no edit here.
export type * from './gen/platform-schemas.js';
export type {
  components as volumesComponents,
  operations as volumesOperationTypes,
  paths as volumesPaths,
} from './gen/volumes.js';
export { volumesOperations } from './gen/volumes-operations.js';
export type * from './gen/volumes-schemas.js';
export { encodeMetadataFilter } from './metadata-filter.js';
export type { FetchLike } from './openapi-client.js';
export type {
  BodyOf,
  FailureOf,
  HeadersOf,
  OperationId,
  PathOf,
  QueryOf,
  SuccessOf,
} from './operation-types.js';
export { PathParameterError, serializePath } from './path-guard.js';
export { createPlatformClient, type PlatformClient, type PlatformClientOptions } from './platform-client.js';
export {
  type Effort,
  effortOfStep,
  expandStepText,
  formatStepText,
  parseDockerWord,
  parseStepText,
  type StepText,
  StepTextError,
  type VariableUse,
} from './step-text.js';
export { createVolumesClient, type VolumesClient, type VolumesClientOptions } from './volumes-client.js';
