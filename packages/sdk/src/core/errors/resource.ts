import {
  FileNotFoundError,
  NotFoundError,
  ProcessNotFoundError,
  SandboxNotFoundError,
  SecretNotFoundError,
  TemplateNotFoundError,
  VolumeNotFoundError,
  WebhookNotFoundError,
} from './not-found-errors.js';
import type { SvcErrorDetails } from './svc-error.js';

/** What a call is about. Decides which "not found" a 404 becomes. */
export type ResourceKind =
  | 'sandbox'
  | 'template'
  | 'file'
  | 'process'
  | 'secret'
  | 'volume'
  | 'webhook'
  | 'snapshot'
  | 'team';

type NotFoundClass = new (message: string, details?: SvcErrorDetails) => NotFoundError;

const classes: Partial<Record<ResourceKind, NotFoundClass>> = {
  sandbox: SandboxNotFoundError,
  template: TemplateNotFoundError,
  snapshot: TemplateNotFoundError,
  file: FileNotFoundError,
  process: ProcessNotFoundError,
  secret: SecretNotFoundError,
  volume: VolumeNotFoundError,
  webhook: WebhookNotFoundError,
};

const hints: Partial<Record<ResourceKind, string>> = {
  sandbox: 'It may have been killed or have reached its time to live, or it belongs to another team.',
  template:
    'Check the name, its tag, and that its build is ready: client.templates.list() shows what there is.',
  file: "Relative paths start at the user's home; sandbox.files.list() shows what is there.",
  snapshot: 'client.snapshots.list() shows what there is.',
  process: 'It has ended, or was never started here: sandbox.commands.list() shows what runs.',
};

/** The class of "not found" for a kind of resource. */
export function notFoundClass(kind: ResourceKind | undefined): NotFoundClass {
  return (kind && classes[kind]) ?? NotFoundError;
}

/** What to tell someone whose resource is missing. */
export function notFoundHint(kind: ResourceKind | undefined): string | undefined {
  return kind && hints[kind];
}
