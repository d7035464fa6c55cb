import { createHash, createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the server departs from what it should do. */
export interface S3Faults {
  /** What it makes of `If-None-Match: *`. */
  conditions?: 'honoured' | 'ignored' | 'not-modified' | 'unknown';
  /** True: it writes in spite of an `If-Match` that does not hold. */
  ignoresMatch?: boolean;
  /** So many of the next conditional writes are answered 409: it is busy with the same object. */
  conflicts?: number;
  /** So many of the next requests wait for this before they are done. */
  held?: { count: number; readonly until: Promise<unknown> };
  /** True: every second read shows what was there before the last write. */
  stale?: boolean;
  /** True: its answers do not say what time it is. */
  dateless?: boolean;
  /** Milliseconds before each answer. */
  latencyMillis?: number;
  /** So many of the next requests are answered 503. */
  busy?: number;
  /** So many of the next answers with a body end after this many bytes. */
  cuts?: { count: number; bytes: number };
  /** So many of the next writes are done, but not answered. */
  lost?: number;
  /** Only this many names are listed at once. */
  pageMax?: number;
  /** Lists and errors go on until the client leaves; or pages of a list follow each other. */
  endless?: 'answers' | 'pages' | 'circle';
}

interface StoredObject {
  readonly bytes: Uint8Array;
  readonly modified: Date;
  /** What was there before. */
  readonly before?: StoredObject | undefined;
}

interface Upload {
  readonly key: string;
  readonly id: string;
  begun: Date;
  readonly parts: Map<number, Uint8Array>;
}

export interface SeenRequest {
  readonly method: string;
  readonly key: string;
  readonly query: string;
  readonly bytes: number;
  readonly headers: http.IncomingHttpHeaders;
}

export const s3Keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG' };

/**
 * As much of an S3-compatible store as a repository, and a cluster, needs, written from the public description of
 * the protocol: objects, conditions, ranges, lists in pages, uploads in parts, signatures of version
 * 4 (checked for each request), and the ways in which stores differ or fail.
 */
export class S3Server {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, Upload>();
  readonly requests: SeenRequest[] = [];
  faults: S3Faults = {};
  sessionToken: string | undefined;
  /** What was sent of endless answers. */
  endlessBytes = 0;
  /** How many requests were under way at one moment, at most. */
  mostAtOnce = 0;
  readonly #server: http.Server;
  #reads = 0;
  #underWay = 0;

  private constructor(server: http.Server) {
    this.#server = server;
  }

  static async start(): Promise<S3Server> {
    const server = http.createServer();
    const store = new S3Server(server);
    server.on('request', (request, response) => void store.#handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return store;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Puts an object into the store without a request. */
  store(key: string, bytes: Uint8Array): void {
    const before = this.objects.get(key);
    // What is written over again and again would be kept for ever.
    const last = before === undefined ? before : { ...before, before: undefined };
    this.objects.set(key, { bytes, modified: new Date(), before: last });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#underWay);
    response.on('close', () => {
      this.#underWay--;
    });
    try {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const { latencyMillis = 0, dateless, held } = this.faults;
      if (held !== undefined && held.count > 0) {
        held.count--;
        await held.until;
      }
      if (latencyMillis > 0) await sleep(latencyMillis);
      if (dateless === true) response.sendDate = false;
      else response.setHeader('date', dateText(new Date()));
      this.#answer(request, Buffer.concat(pieces), response);
    } catch {
      response.destroy();
    }
  }

  #answer(request: http.IncomingMessage, body: Buffer, response: http.ServerResponse): unknown {
    const url = new URL(request.url ?? '/', this.endpoint);
    const [, bucket = '', ...rest] = url.pathname.split('/');
    const key = rest.map(decodeURIComponent).join('/');
    const { method = '', headers } = request;
    this.requests.push({ method, key, query: url.search, bytes: body.length, headers });
    if (!isRecent(String(headers['x-amz-date']))) {
      return xml(response, 403, error('RequestTimeTooSkewed'));
    }
    if (!this.#isSigned(request, url)) {
      // As real stores do, the answer has the id of the key in it.
      const id = `<AWSAccessKeyId>${s3Keys.accessKeyId}</AWSAccessKeyId>`;
      return xml(response, 403, error('SignatureDoesNotMatch', id));
    }
    if ((this.faults.busy ?? 0) > 0) {
      this.faults.busy = (this.faults.busy ?? 0) - 1;
      return xml(response, 503, error('SlowDown'));
    }
    if (this.faults.endless !== undefined && method === 'GET') {
      return this.#goOn(url.searchParams, key, response);
    }
    if (bucket !== 'bucket') return xml(response, 404, error('NoSuchBucket'));
    const isWrite = method === 'PUT' || method === 'POST';
    const respond = isWrite && (this.faults.lost ?? 0) > 0 ? this.#lose(response) : response;
    if (url.searchParams.has('uploads') || url.searchParams.has('uploadId')) {
      return this.#multipart(method, key, url.searchParams, body, respond);
    }
    if (method === 'GET' && key === '') return this.#list(url.searchParams, respond);
    return this.#object(request, key, body, respond);
  }

  #goOn(query: URLSearchParams, key: string, response: http.ServerResponse): unknown {
    if (this.faults.endless === 'answers') {
      response.writeHead(key === '' ? 200 : 403, { 'content-type': 'application/xml' });
      response.write('<ListBucketResult><Error><Code>AccessDenied</Code></Error>');
      const piece = Buffer.alloc(65_536, 'x');
      const fill = (): void => {
        while (!response.destroyed && response.write(piece)) this.endlessBytes += piece.length;
      };
      fill();
      return response.on('drain', fill);
    }
    const pages = this.faults.endless === 'circle' ? 3 : Number.POSITIVE_INFINITY;
    const page = (Number(query.get('continuation-token') ?? 0) + 1) % pages;
    const next = `<NextContinuationToken>${page}</NextContinuationToken>`;
    const body = `<IsTruncated>true</IsTruncated>${next}`;
    return xml(response, 200, `<ListBucketResult>${body}</ListBucketResult>`);
  }

  /** A response that is dropped: the client never learns what became of its request. */
  #lose(response: http.ServerResponse): http.ServerResponse {
    this.faults.lost = (this.faults.lost ?? 0) - 1;
    const dropped = new http.ServerResponse(response.req);
    response.destroy();
    return dropped;
  }

  #object(
    request: http.IncomingMessage,
    key: string,
    body: Buffer,
    response: http.ServerResponse,
  ): unknown {
    const found = this.objects.get(key);
    switch (request.method) {
      case 'PUT': {
        const refusal = this.#refusal(request.headers, found);
        if (refusal === 304) return response.writeHead(304).end();
        if (refusal !== undefined) return xml(response, refusal, error(codes[refusal]));
        this.store(key, body);
        return response.writeHead(200, { etag: etag(body) }).end();
      }
      case 'DELETE':
        this.objects.delete(key);
        return response.writeHead(204).end();
      case 'HEAD':
        if (found === undefined) return response.writeHead(404).end();
        return response.writeHead(200, { 'content-length': found.bytes.length }).end();
      default: {
        const isStale = this.faults.stale === true && ++this.#reads % 2 === 0;
        const shown = isStale ? found?.before : found;
        if (shown === undefined) return xml(response, 404, error('NoSuchKey'));
        if (request.headers['if-none-match'] === etag(shown.bytes)) {
          return response.writeHead(304).end();
        }
        response.setHeader('etag', etag(shown.bytes));
        response.setHeader('last-modified', dateText(shown.modified));
        return this.#send(shown.bytes, request.headers.range, response);
      }
    }
  }

  /** Why a conditional write is not done. */
  #refusal(
    headers: http.IncomingHttpHeaders,
    found: StoredObject | undefined,
  ): keyof typeof codes | 304 | undefined {
    const { conditions = 'honoured', ignoresMatch, conflicts = 0 } = this.faults;
    const match = headers['if-match'];
    if (headers['if-none-match'] !== '*' && match === undefined) return undefined;
    if (conflicts > 0) {
      this.faults.conflicts = conflicts - 1;
      return 409;
    }
    if (match !== undefined) {
      if (ignoresMatch === true) return undefined;
      if (found === undefined) return 404;
      return etag(found.bytes) === match ? undefined : 412;
    }
    if (conditions === 'unknown') return 501;
    if (conditions === 'ignored' || found === undefined) return undefined;
    return conditions === 'not-modified' ? 304 : 412;
  }

  #send(bytes: Uint8Array, range: string | undefined, response: http.ServerResponse): unknown {
    const match = /^bytes=(\d+)-(\d*)$/.exec(range ?? '');
    const from = Number(match?.[1] ?? 0);
    const to = match?.[2] ? Number(match[2]) + 1 : bytes.length;
    if (from > 0 && from >= bytes.length) return xml(response, 416, error('InvalidRange'));
    const part = bytes.subarray(from, to);
    response.writeHead(match === null ? 200 : 206, { 'content-length': part.length });
    const { cuts } = this.faults;
    if (cuts !== undefined && cuts.count > 0 && part.length > cuts.bytes) {
      cuts.count--;
      return response.write(part.subarray(0, cuts.bytes), () => response.destroy());
    }
    return response.end(part);
  }

  #list(query: URLSearchParams, response: http.ServerResponse): unknown {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const max = Math.min(Number(query.get('max-keys') ?? 1000), this.faults.pageMax ?? 1000);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after);
    const page = keys.sort().slice(0, max);
    const isTruncated = page.length < keys.length;
    const contents = page.map((key) => {
      const object = this.objects.get(key);
      const time = object?.modified.toISOString();
      const size = object?.bytes.length;
      return `<Contents><Key>${key}</Key><LastModified>${time}</LastModified><Size>${size}</Size></Contents>`;
    });
    const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    const body = `<IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}`;
    return xml(response, 200, `<ListBucketResult>${body}</ListBucketResult>`);
  }

  #multipart(
    method: string,
    key: string,
    query: URLSearchParams,
    body: Buffer,
    response: http.ServerResponse,
  ): unknown {
    const id = query.get('uploadId');
    if (id === null && method === 'GET') return this.#listUploads(query, response);
    if (id === null) {
      const upload = { key, id: `upload-${this.uploads.size}-${Math.random()}` };
      this.uploads.set(upload.id, { ...upload, begun: new Date(), parts: new Map() });
      const text = `<UploadId>${upload.id}</UploadId>`;
      return xml(
        response,
        200,
        `<InitiateMultipartUploadResult>${text}</InitiateMultipartUploadResult>`,
      );
    }
    const upload = this.uploads.get(id);
    if (upload === undefined || upload.key !== key)
      return xml(response, 404, error('NoSuchUpload'));
    switch (method) {
      case 'PUT':
        upload.parts.set(Number(query.get('partNumber')), body);
        return response.writeHead(200, { etag: etag(body) }).end();
      case 'DELETE':
        this.uploads.delete(id);
        return response.writeHead(204).end();
      case 'GET':
        return this.#listParts(upload, query, response);
      default:
        return this.#complete(upload, body.toString(), response);
    }
  }

  #complete(upload: Upload, body: string, response: http.ServerResponse): unknown {
    const named = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
    const parts = named.map(([, number, tag]) => {
      const bytes = upload.parts.get(Number(number));
      return bytes !== undefined && etag(bytes) === `"${tag}"` ? bytes : undefined;
    });
    if (parts.length === 0 || parts.includes(undefined)) {
      return xml(response, 400, error('InvalidPart'));
    }
    const bytes = Buffer.concat(parts as Uint8Array[]);
    this.store(upload.key, bytes);
    this.uploads.delete(upload.id);
    const text = `<ETag>"${parts.length}"</ETag>`;
    return xml(
      response,
      200,
      `<CompleteMultipartUploadResult>${text}</CompleteMultipartUploadResult>`,
    );
  }

  #listUploads(query: URLSearchParams, response: http.ServerResponse): unknown {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('upload-id-marker') ?? '';
    const all = [...this.uploads.values()]
      .filter(({ key, id }) => key.startsWith(prefix) && id > after)
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const page = all.slice(0, this.faults.pageMax ?? 1000);
    const last = page.at(-1);
    const isTruncated = page.length < all.length;
    const items = page.map(
      ({ key, id, begun }) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun.toISOString()}</Initiated></Upload>`,
    );
    const next = isTruncated
      ? `<NextKeyMarker>${last?.key}</NextKeyMarker><NextUploadIdMarker>${last?.id}</NextUploadIdMarker>`
      : '';
    const body = `<IsTruncated>${isTruncated}</IsTruncated>${next}${items.join('')}`;
    return xml(response, 200, `<ListMultipartUploadsResult>${body}</ListMultipartUploadsResult>`);
  }

  #listParts(upload: Upload, query: URLSearchParams, response: http.ServerResponse): unknown {
    const after = Number(query.get('part-number-marker') ?? 0);
    const all = [...upload.parts].filter(([number]) => number > after).sort(([a], [b]) => a - b);
    const page = all.slice(0, this.faults.pageMax ?? 1000);
    const items = page.map(
      ([number, bytes]) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${etag(bytes)}</ETag><Size>${bytes.length}</Size></Part>`,
    );
    const isTruncated = page.length < all.length;
    const next = `<NextPartNumberMarker>${page.at(-1)?.[0] ?? 0}</NextPartNumberMarker>`;
    const body = `<IsTruncated>${isTruncated}</IsTruncated>${next}${items.join('')}`;
    return xml(response, 200, `<ListPartsResult>${body}</ListPartsResult>`);
  }

  /** Signature Version 4 in the header `authorization`, with an unsigned body. */
  #isSigned({ method, headers }: http.IncomingMessage, url: URL): boolean {
    const found =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? '',
      );
    if (found === null) return false;
    const [, id, day = '', region = '', names = '', signature] = found;
    const signedNames = names.split(';');
    if (this.sessionToken !== undefined) {
      const isToken = headers['x-amz-security-token'] === this.sessionToken;
      if (!isToken || !signedNames.includes('x-amz-security-token')) return false;
    }
    const query = [...url.searchParams]
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
      .sort()
      .join('&');
    const lines = signedNames.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('');
    const request = [method, url.pathname, query, lines, names, 'UNSIGNED-PAYLOAD'].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const hash = createHash('sha256').update(request).digest('hex');
    const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash].join('\n');
    let key: Buffer = Buffer.from(`AWS4${s3Keys.secretAccessKey}`);
    for (const part of [day, region, 's3', 'aws4_request']) key = hmac(key, part);
    return id === s3Keys.accessKeyId && hmac(key, text).toString('hex') === signature;
  }
}

const codes = {
  404: 'NoSuchKey',
  409: 'ConditionalRequestConflict',
  412: 'PreconditionFailed',
  501: 'NotImplemented',
} as const;

/** Whether a request was signed within the last 15 minutes. */
function isRecent(amzDate: string): boolean {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(amzDate);
  if (parts === null) return false;
  const [year = 0, month = 1, ...rest] = parts.slice(1).map(Number);
  const signedAt = Date.UTC(year, month - 1, ...rest);
  return Math.abs(Date.now() - signedAt) <= 15 * 60_000;
}

/** As in headers of HTTP: in whole seconds. */
function dateText(date: Date): string {
  return date.toUTCString();
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function etag(bytes: Uint8Array): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function error(code: string, more = ''): string {
  return `<Error><Code>${code}</Code><Message>${code}</Message>${more}</Error>`;
}

function xml(response: http.ServerResponse, status: number, text: string): unknown {
  return response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
}
