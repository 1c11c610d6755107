package eventemitter

import "errors"

func NewAzureEventGridTopicHandler(...any) (EventDataHandler, error) {
	return nil, errors.New("this KEDA was built without Azure")
}
