import { StoreError } from './object-store.ts';
import { ListPages, type S3Client } from './s3-client.ts';

/** An upload in parts that was neither completed nor given up. */
export interface BegunUpload {
  readonly key: string;
  readonly uploadId: string;
  readonly begunMicros: number;
}

/** A part that a store has of such an upload. */
export interface StoredPart {
  readonly bytes: number;
  /** The MD5 of its bytes, if the store keeps to custom. */
  readonly etag: string;
}

/** The uploads of objects whose keys begin with `prefix`. */
export async function uploadsOf(
  client: S3Client,
  prefix: string,
  signal: AbortSignal | undefined,
): Promise<BegunUpload[]> {
  const uploads: BegunUpload[] = [];
  const pages = new ListPages('a list of uploads');
  let marker: Record<string, string> = {};
  while (true) {
    const options = { ...(prefix === '' ? {} : { prefix }), ...marker };
    const answer = await client.request<unknown>(`a list of uploads`, signal, (s3) =>
      s3.listMultipartUploads('/', '', 'GET', options),
    );
    const result = wordsOf(resultIn(answer));
    for (const upload of listOf(result.upload)) {
      const { key, uploadid, initiated } = wordsOf(upload);
      if (typeof key !== 'string' || typeof uploadid !== 'string') continue;
      const begunMicros = (Date.parse(String(initiated)) || 0) * 1000;
      uploads.push({ key, uploadId: uploadid, begunMicros });
    }
    if (String(result.istruncated) !== 'true') return uploads;
    const { nextkeymarker, nextuploadidmarker } = result;
    if (typeof nextkeymarker !== 'string') throw new StoreError('a list of uploads has no end');
    marker = { 'key-marker': nextkeymarker, 'upload-id-marker': String(nextuploadidmarker ?? '') };
    pages.goOn(JSON.stringify(marker));
  }
}

/** The parts of an upload, by number; `undefined`: it is gone. */
export async function partsOf(
  client: S3Client,
  { key, uploadId }: BegunUpload,
  signal: AbortSignal | undefined,
): Promise<Map<number, StoredPart> | undefined> {
  const parts = new Map<number, StoredPart>();
  const pages = new ListPages(`a list of the parts of ${key}`);
  let marker = '0';
  while (true) {
    const options = { uploadId, 'part-number-marker': marker };
    const text = await client.request<string | null>(
      `a list of the parts of ${key}`,
      signal,
      async (s3) => (await s3.getObjectRaw(key, true, 0, undefined, options)).text(),
      ({ status }) => (status === 404 ? '' : undefined),
    );
    if (text === '' || text === null) return undefined;
    for (const [, part = ''] of text.matchAll(/<Part>([\s\S]*?)<\/Part>/g)) {
      const number = Number(textIn(part, 'PartNumber'));
      const etag = textIn(part, 'ETag').replaceAll(/&quot;|"/g, '');
      parts.set(number, { bytes: Number(textIn(part, 'Size')), etag });
    }
    const next = textIn(text, 'NextPartNumberMarker');
    if (textIn(text, 'IsTruncated') !== 'true' || next === '' || next === marker) return parts;
    pages.goOn(next);
    marker = next;
  }
}

function textIn(xml: string, element: string): string {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1] ?? '';
}

/** The one element of an answer, however it spells its name. */
function resultIn(answer: unknown): unknown {
  const words = wordsOf(answer);
  return words.listmultipartuploadsresult ?? words;
}

/** Members by their names in lower case. */
function wordsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]),
  );
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === '') return [];
  return Array.isArray(value) ? value : [value];
}
