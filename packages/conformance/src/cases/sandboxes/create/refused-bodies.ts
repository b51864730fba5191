/** Bodies that must be refused with 400, by name. */
export const REFUSED: Record<string, Record<string, unknown>> = {
  'timeout 0': { timeout: 0 },
  'a negative timeout': { timeout: -1 },
  'a timeout that is no integer': { timeout: 1.5 },
  'a timeout that is a text': { timeout: '15' },
  'autoPauseMemory false without autoPause': { autoPauseMemory: false },
  'autoPauseMemory false with autoPause false': { autoPauseMemory: false, autoPause: false },
  'autoPauseMemory false with autoResume': {
    autoPauseMemory: false,
    autoPause: true,
    autoResume: { enabled: true },
  },
  'autoResume without enabled': { autoResume: {} },
  'metadata with a number': { metadata: { key: 1 } },
  'envVars with a number': { envVars: { key: 1 } },
  'a domain in denyOut': { network: { denyOut: ['example.com'] } },
  '0.0.0.0 in allowOut': { network: { allowOut: ['0.0.0.0'] } },
  ':: in allowOut': { network: { allowOut: ['::'] } },
  'a CIDR that is none': { network: { denyOut: ['10.0.0.0/33'] } },
  'a domain in allowOut without denying all': { network: { allowOut: ['example.com'] } },
  'httpsPorts twice the same': { network: { httpsPorts: [443, 443] } },
  'httpsPorts with port 0': { network: { httpsPorts: [0] } },
  'httpsPorts with port 65536': { network: { httpsPorts: [65_536] } },
  'httpsPorts with the daemon port': { network: { httpsPorts: [49_983] } },
  'too many httpsPorts': { network: { httpsPorts: Array.from({ length: 129 }, (_, index) => index + 1) } },
  'maskRequestHost that is no host': { network: { maskRequestHost: 'not a host' } },
  'a rule for a bare star': { network: { rules: { '*': [] } } },
  'a rule for a star inside': { network: { rules: { 'a.*.example.com': [] } } },
  'two transforms of one host': {
    network: { rules: { 'a.example.com': [{ transform: {} }, { transform: {} }] } },
  },
  'the same host twice in two cases': {
    network: { rules: { 'a.example.com': [{ transform: {} }], 'A.example.com': [{ transform: {} }] } },
  },
  'a forbidden header in a rule': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { Host: 'other' } } }] } },
  },
  'a header with a broken placeholder': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': `\${svc.secrets.` } } }] } },
  },
  'a placeholder with a secret id': {
    network: {
      rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': `\${svc.secrets.sec_abc}` } } }] },
    },
  },
  'a header value with a line end': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': 'a\nb' } } }] } },
  },
  'six identity tokens': {
    iam: {
      tokens: Object.fromEntries(
        Array.from({ length: 6 }, (_, index) => [`t${index}`, { audience: 'a', tokenType: 'JWT-SVID' }]),
      ),
    },
  },
  'an identity token of another type': { iam: { tokens: { one: { audience: 'a', tokenType: 'JWT' } } } },
  'an identity token without audience': { iam: { tokens: { one: { tokenType: 'JWT-SVID' } } } },
  'an identity token with an empty audience': {
    iam: { tokens: { one: { audience: '', tokenType: 'JWT-SVID' } } },
  },
  'an identity token with a brace in its name': {
    iam: { tokens: { 'a}b': { audience: 'a', tokenType: 'JWT-SVID' } } },
  },
  'a mount of a volume that is not there': { volumeMounts: [{ name: 'no-such-volume', path: '/data' }] },
  'a mount without a path': { volumeMounts: [{ name: 'no-such-volume' }] },
};
