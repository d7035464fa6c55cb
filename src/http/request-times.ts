import { Histogram, type Registry } from 'prom-client';

/** Response times by endpoint and status, for metrics. */
export class RequestTimes {
  readonly #histogram: Histogram<'endpoint' | 'status'>;

  constructor(registry: Registry) {
    this.#histogram = new Histogram({
      name: 'reducerdb_request_duration_seconds',
      help: 'Time from the headers of an HTTP request until its answer begins',
      labelNames: ['endpoint', 'status'],
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  }

  /** `endpoint`: the path of a route, with `:name` for its parameters. `status` can be a class. */
  observe(endpoint: string, status: string, millis: number): void {
    this.#histogram.observe({ endpoint, status }, millis / 1_000);
  }
}
