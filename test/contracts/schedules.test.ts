import { shopOpener } from '../support/shop.ts';
import {
  deadlyProceduresContract,
  deadlySchedulesContract,
  schedulesContract,
} from './schedules.contract.ts';

schedulesContract('local', shopOpener('local'));
schedulesContract('thread', shopOpener('thread'));
schedulesContract('process', shopOpener('process'));

deadlySchedulesContract('thread', (budget) => shopOpener('thread', budget));
deadlySchedulesContract('process', (budget) => shopOpener('process', budget));

deadlyProceduresContract('thread', (budget) => shopOpener('thread', budget));

deadlyProceduresContract('process', (budget) => shopOpener('process', budget));
