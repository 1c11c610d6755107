package scalers

// Others use it as well, but it stands with a scaler that is left out.
const externalMetricType = "External"
