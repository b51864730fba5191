/** Network settings that are not valid. The message begins with the setting and says what is wrong. */
export class PolicyError extends TypeError {
  override name = 'PolicyError';
}
