import type { IgnoreRules } from '../files/directory/ignore-rules.js';

/** Credentials for the registry of an image. Used for the one build, and not kept. */
export type RegistryCredentials =
  | { type: 'registry'; username: string; password: string }
  | { type: 'aws'; awsAccessKeyId: string; awsSecretAccessKey: string; awsRegion: string }
  | { type: 'gcp'; serviceAccountJson: string };

/** The start of a template. */
export type TemplateBase =
  | { readonly template: string }
  | { readonly image: string; readonly registry: RegistryCredentials | undefined };

/** Files that a step brings along. */
export interface CopySource {
  /** File, directory or pattern, relative to the context. */
  readonly source: string;
  readonly target: string;
}

/** One instruction. */
export interface TemplateStep {
  readonly type: 'RUN' | 'COPY' | 'ENV' | 'ARG' | 'USER' | 'WORKDIR';
  readonly args: readonly string[];
  /** Of COPY. */
  readonly copy: CopySource | undefined;
  /** Run this step and all after it again, despite the cache. */
  readonly force: boolean;
}

/** The parts of a template. */
export interface TemplateDefinition {
  readonly base: TemplateBase;
  readonly steps: readonly TemplateStep[];
  readonly startCommand: string | undefined;
  readonly readyCommand: string | undefined;
  /** Directory that sources of COPY are relative to. Default: the working directory. */
  readonly contextDir: string | undefined;
  /** Entries that COPY leaves out of directories. */
  readonly ignore: IgnoreRules | undefined;
  /** True when the context's `.dockerignore` applies. */
  readonly dockerIgnore: boolean;
  /** True when the next step breaks the cache. */
  readonly forceNext: boolean;
  /** Parts of a Dockerfile that this template does not have, for the log of the build. */
  readonly warnings: readonly string[];
}
