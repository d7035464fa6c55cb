import { fatalErrorText } from '../outcome.ts';

/** Why a view has no rows. The module's log has the details. */
export interface ViewFailure {
  readonly view: string;
  /**
   * `refused`: the module threw `SenderError`. `crashed`: it threw anything else. `invalid`: what
   * it returned cannot be the rows of the view.
   */
  readonly kind: 'refused' | 'crashed' | 'invalid';
  /** A message for every caller; details of a crash are for the module's author alone. */
  readonly reason: string;
}

export function crashedFailure(view: string): ViewFailure {
  return { view, kind: 'crashed', reason: fatalErrorText };
}

export function failureText({ view, reason }: ViewFailure): string {
  return `Error materializing view \`${view}\`: ${reason}`;
}

/** The error of a statement that reads, or would change, a failing view. */
export function statementFailureText(failure: ViewFailure): string {
  return `The module instance encountered a fatal error: ${failureText(failure)}`;
}

/** The error for a publisher whose program makes a live view fail. */
export function updateFailureText(failure: ViewFailure): string {
  if (failure.kind === 'crashed') return 'Trapped while evaluating views during database update';
  const text = 'Views evaluation did not complete successfully during database update';
  return `${text}: ${failureText(failure)}`;
}
