import type { KeepPlan } from '../../log/keep-plan.ts';
import type { LogSurvey } from '../../log/survey.ts';
import type { LogPlace } from './accept-losses.ts';

/** The result of examining a log. */
export type Examined = LogPlace &
  (
    | {
        /** `intact` and `torn`: a start opens it. */
        readonly state: 'intact' | 'torn' | 'damaged' | 'forked';
        /** Why it is refused. */
        readonly reason: string | undefined;
        readonly survey: LogSurvey;
      }
    /** A repair decided what to keep, and was interrupted. */
    | { readonly state: 'interrupted'; readonly plan: KeepPlan }
  );
