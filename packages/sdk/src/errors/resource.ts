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

/** The service that is called. */
export type Service = 'platform' | 'sandbox' | 'volumes' | 'operator';

/** The kind of resource that a call is about. Decides which "not found" a 404 becomes. */
export type ResourceKind =
  | 'sandbox'
  | 'template'
  | 'file'
  | 'process'
  | 'secret'
  | 'volume'
  | 'webhook'
  | 'snapshot'
  | 'apiKey'
  | 'team'
  | 'node';

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
  secret: 'client.secrets.list() shows what there is.',
  volume: 'client.volumes.list() shows what there is.',
  webhook: 'client.webhooks.list() shows what there is.',
  team: 'The list of teams shows what there is.',
  process: 'It has ended, or was never started here: sandbox.commands.list() shows what runs.',
};

/** The class of "not found" for a kind of resource. */
export function notFoundClass(kind: ResourceKind | undefined): NotFoundClass {
  return (kind && classes[kind]) ?? NotFoundError;
}

const identifiers: Partial<Record<ResourceKind, string>> = {
  sandbox: 'A sandbox is named by its sandboxId: client.sandboxes.list() shows it.',
  secret: 'A secret is named by its secretId or by its name: letters, digits, _ and -.',
  volume: 'A volume is named by its volumeId, a UUID: client.volumes.list() shows it.',
  webhook: 'A webhook is named by its webhookId, a UUID: client.webhooks.list() shows it.',
  apiKey: 'A key is named by its apiKeyId, a UUID, not by the key itself: the list of keys shows it.',
};

/** Advice for a caller whose identifier can name nothing; nothing for other refusals. */
export function badIdentifierHint(kind: ResourceKind | undefined, message: string): string | undefined {
  return /^Invalid (.+ ID|secrets request)$/.test(message) ? kind && identifiers[kind] : undefined;
}

/** Advice for a caller whose resource is missing. */
export function notFoundHint(kind: ResourceKind | undefined): string | undefined {
  return kind && hints[kind];
}
