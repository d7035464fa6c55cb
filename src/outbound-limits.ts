const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Bounds on HTTP requests that modules send. They are part of `limits`. */
export const outboundLimits = {
  /** Requests that one module sends at once, those of all modules, and those of one to one host. */
  outboundRequestsMax: 1_024,
  outboundServiceRequestsMax: 4_096,
  outboundHostRequestsMax: 64,
  /** Time for one of them, from its start to the last byte of the answer. */
  outboundMillis: 30_000,
  outboundMillisMax: 180_000,
  /** Redirects that it follows. */
  outboundRedirectsMax: 10,
  /** Its URL and headers, and the headers of the answer. */
  outboundHeadBytesMax: 64 * kibibyte,
  /** Its body, or that of the answer; and the bodies of all running requests of one module. */
  outboundBodyBytesMax: 16 * mebibyte,
  outboundBodiesBytesMax: 256 * mebibyte,
  /** Connections of one module that are kept for its next request, and for how long. */
  outboundIdleConnectionsMax: 32,
  outboundIdleMillisMax: 4_000,
  /** Addresses of one host name that are tried. */
  outboundAddressesMax: 16,
  /** Time for one name server to answer, how often it is asked, and how long servers are kept. */
  outboundNameServerMillisMax: 2_000,
  outboundNameServerTries: 2,
  outboundNameServersKeptMillis: 60_000,
  /** Heap of the thread that sends them, beside the bodies. */
  outboundHeapMebibytesMax: 1_024,
  /** How long the metrics wait for its figures. */
  outboundFiguresMillisMax: 1_000,
  /** How long it rests before it is started again, when it has died. */
  outboundRestMillisMin: 100,
  outboundRestMillisMax: 5_000,
  /** Hosts that the metrics name, of one database and of all. */
  outboundDatabaseHostNamesMax: 32,
  outboundHostNamesMax: 1_024,
  /** Interval between two lines of the audit log about addresses refused to one database. */
  outboundRefusalMillis: 60_000,
} as const;
