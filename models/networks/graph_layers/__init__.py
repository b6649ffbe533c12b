"""The layers of networks as nodes of OpenVINO, by kind."""
