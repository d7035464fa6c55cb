import { ruleOf } from './alert-rules.ts';
import { familiesIn, type Sample } from './prometheus-text.ts';
import { evaluate, type Scrapes } from './promql.ts';

/** A service that can be asked. */
interface Asked {
  ask(method: string, where: string): Promise<{ readonly text: string }>;
}

/** Scrapes a service as Prometheus does, and says which alerts its figures would fire. */
export class AlertWatch {
  readonly #service: () => Asked;
  #before: readonly Sample[] = [];
  #beforeAt = 0;

  constructor(service: () => Asked) {
    this.#service = service;
  }

  /** What comes is compared with the figures of this moment. */
  async begin(): Promise<void> {
    this.#before = await this.#scrape();
    this.#beforeAt = performance.now();
  }

  /** True while the condition of the alert holds; how long it must hold is not waited for. */
  async fires(alert: string): Promise<boolean> {
    const now = await this.#scrape();
    const seconds = (performance.now() - this.#beforeAt) / 1_000;
    const scrapes: Scrapes = { before: this.#before, now, seconds };
    return evaluate(ruleOf(alert), scrapes).length > 0;
  }

  /** Prometheus adds whether it got an answer. */
  async #scrape(): Promise<readonly Sample[]> {
    const up = (value: number): Sample => ({ name: 'up', labels: { job: 'reducerdb' }, value });
    try {
      const { text } = await this.#service().ask('GET', '/v1/metrics');
      return [up(1), ...[...familiesIn(text).values()].flatMap(({ samples }) => samples)];
    } catch (error) {
      if (error instanceof TypeError) return [up(0)];
      throw error;
    }
  }
}
