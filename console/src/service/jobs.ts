import { requestJson, send } from './http.ts';
import { isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from './json.ts';

/** Work of the service that takes its time. */
export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  readonly phase: string;
  readonly done: number;
  /** 0: not known yet. */
  readonly total: number;
  readonly result: JsonObject | null;
  readonly error: string | null;
}

/** `GET /v1/jobs/:id`. */
export async function readJob(id: string, signal?: AbortSignal): Promise<Job> {
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return {
    id: textOf(body.id),
    kind: textOf(body.kind),
    state: textOf(body.state) as Job['state'],
    phase: textOf(body.phase),
    done: numberOf(body.done) ?? 0,
    total: numberOf(body.total) ?? 0,
    result: isObject(body.result) ? body.result : null,
    error: body.error === null || body.error === undefined ? null : textOf(body.error),
  };
}

/** `DELETE /v1/jobs/:id`. */
export async function cancelJob(id: string): Promise<void> {
  await send(`/v1/jobs/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

/** The id in an answer that began a job. */
export function jobOf(answer: Json): string {
  return textOf(objectOf(answer).job);
}
