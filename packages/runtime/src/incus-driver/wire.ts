/** Instances, images and members as Incus' REST API gives them: what the driver reads of them. */
export interface WireInstance {
  name: string;
  /** `Running`, `Frozen`, `Stopped`, `Error` while its member is away, and states in between. */
  status: string;
  /** Member; `none` where there is no cluster. */
  location: string;
  /** Empty while its member is away, and the devices too. */
  config: Record<string, string>;
  devices: Record<string, Record<string, string>>;
}

export interface WireInstanceState {
  status: string;
  cpu?: { usage?: number };
  memory?: { usage?: number; total?: number };
  disk?: Record<string, { usage?: number; total?: number }>;
  processes?: number;
}

/** Where a custom volume of a storage pool is. */
export interface WireVolumePlace {
  name: string;
  /** Member; `none` where there is no cluster. */
  location: string;
}

/** A custom volume of a storage pool. */
export interface WireVolume extends WireVolumePlace {
  /** Known while its member is away too. */
  config: Record<string, string>;
  /** As Incus writes times: the earlier one sorts first. */
  createdAt: string;
}

export interface WireImage {
  fingerprint: string;
  size: number;
  properties: Record<string, string>;
}

export interface WireMember {
  server_name: string;
  url: string;
  /** `Online`, `Offline`, `Evacuated`, `Blocked`. */
  status: string;
  message: string;
  database: boolean;
  roles: string[];
  architecture: string;
}

export interface WireServer {
  api_extensions: string[];
  auth: string;
  environment: {
    server: string;
    server_version: string;
    server_name: string;
    server_clustered: boolean;
    kernel_architecture: string;
    certificate: string;
    certificate_fingerprint: string;
  };
}

export interface WireResources {
  cpu: { total: number };
  memory: { total: number };
}
