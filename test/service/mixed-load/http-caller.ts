import { Agent, request } from 'node:http';

export interface HttpRequest {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly isJson?: boolean;
  readonly token?: string | undefined;
}

/** Requests over connections that are kept. */
export class HttpCaller {
  readonly #port: number;
  /** In turn, so that none is idle until the service closes it just when it is used again. */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 128, scheduling: 'fifo' });

  constructor(port: number) {
    this.#port = port;
  }

  /** The text of the answer; throws where its status is another than expected. */
  ask(given: HttpRequest, status = 200): Promise<string> {
    const { method = 'POST', path, body, isJson = false, token } = given;
    const headers: Record<string, string> = { accept: '*/*' };
    if (isJson) headers['content-type'] = 'application/json';
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const options = { host: '127.0.0.1', port: this.#port, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const outgoing = request({ ...options, method, path, headers }, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk) => {
          text += chunk;
        });
        incoming.on('error', reject);
        incoming.on('end', () => {
          if (incoming.statusCode === status) resolve(text);
          else reject(new Error(`${method} ${path}: ${incoming.statusCode} ${text}`));
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}
