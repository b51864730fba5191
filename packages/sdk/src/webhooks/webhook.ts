import type { LifecycleEventType } from '../events/lifecycle-event.js';

/** An address that lifecycle events are sent to. */
export interface Webhook {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly url: string;
  /** True when events are delivered. */
  readonly enabled: boolean;
  readonly events: LifecycleEventType[];
  readonly createdAt: Date;
}

/** A webhook to create. */
export interface NewWebhook {
  name: string;
  /** `http` or `https`. */
  url: string;
  /** Events to deliver; at least one. */
  events: readonly LifecycleEventType[];
  /** Key that deliveries are signed with, at least 32 characters; after `whsec_`, base64. Never returned. */
  signatureSecret: string;
  /** Default: the service's, true. */
  enabled?: boolean | undefined;
}

/** Changes to a webhook. Fields that are left out keep their values. */
export type WebhookChange = { [Key in keyof NewWebhook]?: NewWebhook[Key] | undefined };

/** One try to deliver an event. */
export interface DeliveryAttempt {
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
  readonly status: 'success' | 'failed';
  readonly timestamp: Date;
  readonly durationMs: number;
  readonly requestUrl: string;
  /** Signatures are redacted. */
  readonly requestHeaders: Record<string, string>;
  /** Cut at 64 KiB. */
  readonly requestBody: string;
  /** Undefined when there was no answer. */
  readonly responseStatus: number | undefined;
  readonly responseHeaders: Record<string, string> | undefined;
  /** Cut at 64 KiB. */
  readonly responseBody: string | undefined;
  /** Kind of failure: `http_error`, `dns_error`, `timeout`, ... */
  readonly errorClass: string | undefined;
  readonly errorMessage: string | undefined;
}

/** An event on its way to a webhook. */
export interface Delivery {
  readonly eventId: string;
  readonly eventType: LifecycleEventType;
  readonly sandboxId: string;
  /** `pending` while an attempt is under way or another one will be made; then how the last attempt ended. */
  readonly status: 'pending' | 'success' | 'failed';
  /** Oldest first. */
  readonly attempts: DeliveryAttempt[];
}

/** Which deliveries to list. */
export interface DeliveryQuery {
  /** The end of the deliveries: leaves out those that are pending. */
  status?: 'success' | 'failed' | undefined;
  eventType?: LifecycleEventType | undefined;
  /** First attempted at this time or later. */
  start?: Date | undefined;
  /** First attempted before this time. */
  end?: Date | undefined;
  /** By time. Default `desc`. */
  order?: 'asc' | 'desc' | undefined;
  /** Items on a page, 1 to 100. Default: the service's, 25. */
  limit?: number | undefined;
  /** `nextToken` of an earlier page: continues after it. */
  nextToken?: string | undefined;
}

/** Counts of deliveries and of the attempts made for them. */
export interface DeliveryCounts {
  readonly deliveries: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly attempts: number;
}

/** Counts of a webhook's deliveries. */
export interface WebhookStats {
  readonly start: Date;
  readonly end: Date;
  readonly totals: DeliveryCounts;
  /** The time span in pieces of equal length, oldest first, empty ones included. */
  readonly buckets: (DeliveryCounts & { readonly start: Date; readonly end: Date })[];
}
