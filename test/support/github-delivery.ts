import { createHmac } from 'node:crypto';

interface Delivery {
  readonly event: string;
  readonly payload: unknown;
  readonly secret: string;
  readonly id: string;
}

/** A request as GitHub sends it for a webhook with this secret. */
export function githubDelivery({ event, payload, secret, id }: Delivery) {
  const body = JSON.stringify(payload);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-github-delivery': id,
    'x-github-event': event,
    'x-hub-signature-256': `sha256=${signature}`,
  };
  return { method: 'POST', headers, body };
}

/** The payload of an issue that was opened; `more` changes or adds members. */
export function issueOpened(number: number, title: string, more: object = {}) {
  const user = { login: 'linus' };
  return {
    action: 'opened',
    issue: { number, title, body: `The text of ${title}`, user },
    repository: { full_name: 'tea/pots' },
    ...more,
  };
}

/** The payload of a comment on that issue. */
export function commentCreated(number: number, title: string, id: number, body: string) {
  const comment = { id, body, user: { login: 'margaret' } };
  return { ...issueOpened(number, title), action: 'created', comment };
}
