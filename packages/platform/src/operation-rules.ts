/** The rules that the document states for one operation in `x-` fields; `spec/README.md` describes them. */
export interface OperationRules {
  allowedWhenBlocked?: true;
  rateGroup?: 'create' | 'redeliver';
  audit?: boolean;
  actsOn?: { readonly kind: string; readonly answer?: string; readonly body?: string };
  runsOn?: 'placement' | 'volume';
  wakes?: true;
  successor?: string;
  dashboard?: true | readonly string[];
  probe?: true;
}
