/**
 * Start a service from code. Node only; modules import `reducerdb/server`.
 *
 * @module
 */

export * from '../values/index.ts';
export {
  ConfigurationError,
  type ListenAddress,
  type ServiceConfiguration,
} from './configuration.ts';
export { type Service, startService } from './start-service.ts';
